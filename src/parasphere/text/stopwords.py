"""A list of English stop words: the closed word classes, and the pieces that contractions are split into."""

ENGLISH = frozenset(
    """
    a an the
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves one oneself
    this that these those who whom whose which what whoever whatever whichever
    some any no none each every either neither both all few fewer many more most much several other another such
    own same
    am is are was were be been being have has had having do does did doing done can could may might must shall should
    will would ought
    about above across after against along among amongst around as at before behind below beneath beside besides
    between beyond by despite down during except for from in inside into like near of off on onto out outside over past
    per since than through throughout till to toward towards under underneath until unto up upon via with within without
    and but or nor so yet if unless although though because while whereas whether once
    when where why how whenever wherever however therefore thus hence then there here now
    not only very too quite rather just also even still again ever never always often further
    s t d m re ve ll don doesn didn isn aren wasn weren hasn haven hadn won wouldn shan shouldn couldn mustn mightn
    needn ain ma o y
    """.split()
)
