// Texts cut into pieces, each with its part in a match.

export const EXCERPT = 280; // most characters of a text in a list

const HIDDEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

// A text with its control characters escaped (parasphere/printable.py).
export const visible = (text) => text.replace(HIDDEN, (character) => {
  const code = character.charCodeAt(0).toString(16);
  return character === "\r" ? "\\r" : code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
});

// Pieces [text, part] of a text, or of about `length` characters of it with most of the marked words
// { word, begin, end, part }.
export function pieces(given, marked, length = Infinity) {
  const text = given.normalize("NFC"); // as its words were found
  const [begin, end] = text.length <= length ? [0, text.length] : stretch(text, marked, length), found = [];
  let at = begin;
  for (const mark of marked) {
    if (mark.begin < at || mark.end > end) continue;
    if (mark.begin > at) found.push([visible(text.slice(at, mark.begin)), 0]);
    found.push([visible(text.slice(mark.begin, mark.end)), mark.part]);
    at = mark.end;
  }
  if (at < end) found.push([visible(text.slice(at, end)), 0]);
  if (begin) found.unshift(["… ", 0]);
  if (end < text.length) found.push([" …", 0]);
  return found;
}

// The stretch of a text with most of the marks, each word once, cut at blanks.
function stretch(text, marked, length) {
  let [best, begin] = [-1, 0];
  marked.forEach((first, i) => {
    const seen = new Map();
    for (let j = i; j < marked.length && marked[j].end <= first.begin + length * 0.75; j++) seen.set(marked[j].word, marked[j].part);
    const total = [...seen.values()].reduce((sum, part) => sum + part, 0);
    if (total > best) [best, begin] = [total, first.begin];
  });
  begin = Math.max(0, Math.min(begin - Math.floor(length / 4), text.length - length));
  let end = Math.min(text.length, begin + length), blank = text.indexOf(" ", begin);
  if (begin && blank >= 0 && blank < begin + 40) begin = blank + 1;
  blank = text.lastIndexOf(" ", end - 1);
  if (end < text.length && blank > Math.max(begin, end - 40)) end = blank;
  return [whole(text, begin), whole(text, end)];
}

// This index, or the next if it is within a surrogate pair, such as an emoji.
export const whole = (text, at) => (/[\udc00-\udfff]/.test(text.charAt(at)) ? at + 1 : at);
