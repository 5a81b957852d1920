// The stem of an English word by Snowball's algorithm (Porter 2), as PyStemmer 3 returns it, for words without apostrophes.

const WHOLE = {
  skis: "ski", skies: "sky", idly: "idl", gently: "gentl", ugly: "ugli", early: "earli", only: "onli", singly: "singl",
  sky: "sky", news: "news", howe: "howe", atlas: "atlas", cosmos: "cosmos", bias: "bias", andes: "andes",
};
const REGION = /^(?:arsen|commun|emerg|gener|inter|later|organ|past|univers|[^aeiouy]*[aeiouy]+[^aeiouy])/; // R1 follows it
const NEXT = /^[^aeiouy]*[aeiouy]+[^aeiouy]/; // R2 follows it in R1
const SHORT = /[^aeiouy][aeiouy][^aeiouywxY]$|^[aeiouy][^aeiouy]$|past$/;
const VOWEL = /[aeiouy]/, KEPT = /^(?:even|cann|inn|earr|herr|out)$/;
const table = (text) => text.trim().split(/\s+/).map((entry) => entry.split(":"));
const STEP_2 = table(`ization:ize ational:ate fulness:ful ousness:ous iveness:ive tional:tion biliti:ble lessli:less
  entli:ent ation:ate alism:al aliti:al ousli:ous iviti:ive fulli:ful ogist:og enci:ence anci:ance abli:able izer:ize
  ator:ate alli:al bli:ble ogi:og li:`);
const STEP_3 = table("ational:ate tional:tion alize:al icate:ic iciti:ic ative: ical:ic ness: ful:");
const STEP_4 = table("ement: ance: ence: able: ible: ment: ant: ent: ism: ate: iti: ous: ive: ize: ion: al: er: ic:");

// The first ending of a list, the longest first, that a word has.
const ending = (word, list) => list.find(([end]) => word.endsWith(end)) ?? ["", ""];
const cut = (word, many, added = "") => word.slice(0, word.length - many) + added;

export function stem(given) {
  if (Object.hasOwn(WHOLE, given)) return WHOLE[given];
  if ([...given].length < 3) return given;
  let word = given.replace(/^y|([aeiouy])y/g, (found) => cut(found, 1, "Y"));
  const first = word.match(REGION)?.[0].length ?? word.length;
  const second = first + (word.slice(first).match(NEXT)?.[0].length ?? word.length - first);

  if (word.endsWith("sses")) word = cut(word, 2);
  else if (/ie[ds]$/.test(word)) word = cut(word, word.length > 4 ? 2 : 1);
  else if (/[^us]s$/.test(word) && VOWEL.test(cut(word, 2))) word = cut(word, 1);

  word = withoutTense(word, first);

  if (/.[^aeiouy][yY]$/.test(word)) word = cut(word, 1, "i");

  let [end, put] = ending(word, STEP_2), at = word.length - end.length;
  if (end && at >= first && !(end === "ogi" && word[at - 1] !== "l") && !(end === "li" && !/[cdeghkmnrt]/.test(word[at - 1]))) word = cut(word, end.length, put);

  [end, put] = ending(word, STEP_3);
  if (end && word.length - end.length >= (end === "ative" ? second : first)) word = cut(word, end.length, put);

  [end] = ending(word, STEP_4);
  at = word.length - end.length;
  if (end && at >= second && !(end === "ion" && !/[st]/.test(word[at - 1]))) word = cut(word, end.length);

  at = word.length - 1;
  if (word.endsWith("e") && (at >= second || (at >= first && !SHORT.test(cut(word, 1))))) word = cut(word, 1);
  else if (word.endsWith("ll") && at >= second) word = cut(word, 1);
  return word.replaceAll("Y", "y");
}

// A word without -ed, -ing and the like; R1 begins at `first`.
function withoutTense(word, first) {
  const end = word.match(/(?:eedly|eed|ingly|edly|ing|ed)$/)?.[0];
  if (!end) return word;
  const rest = cut(word, end.length);
  if (end.startsWith("eed")) return rest.length < first || /^(?:succ|proc|exc)$/.test(rest) ? word : `${rest}ee`;
  if (end === "ing") {
    if (/^[^aeiouy]y$/.test(rest)) return `${rest[0]}ie`;
    if (KEPT.test(rest)) return word;
  }
  if (!VOWEL.test(rest)) return word;
  if (/(?:at|bl|iz)$/.test(rest)) return `${rest}e`;
  if (/(?:bb|dd|ff|gg|mm|nn|pp|rr|tt)$/.test(rest)) return /^[aeo]..$/.test(rest) ? rest : cut(rest, 1);
  return rest.length === first && SHORT.test(rest) ? `${rest}e` : rest;
}
