// Colours of points: twenty that most eyes tell apart, and a ramp for numbers, both for light and dark ground.

const NAMED = [
  "0077aa", "ee9900", "009977", "cc77aa", "dd6600", "55bbee", "443300", "0000bb", "bb0044", "99994d",
  "225533", "5555ff", "885577", "7788ee", "dd22bb", "884400", "ee8899", "ff2266", "444499", "443355",
];
const RAMP = ["440154", "414487", "2a788e", "22a884", "7ad151", "fde725"]; // viridis
const ENDS = { light: [0, 0.88], dark: [0.28, 1] }; // the part of the ramp that is seen on this ground
const NONE = { light: [150, 150, 155], dark: [125, 125, 132] };

const parsed = (hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
const brightness = ([r, g, b]) => 0.299 * r + 0.587 * g + 0.114 * b;
const towards = (from, to, share) => from.map((value, i) => value + (to[i] - value) * share);

// A colour as bright as the dark ground needs, or as dark as the light ground needs.
function onGround(colour, theme) {
  const bright = brightness(colour);
  if (theme === "dark" && bright < 125) return towards(colour, [255, 255, 255], (125 - bright) / (255 - bright));
  return theme === "light" && bright > 190 ? towards(colour, [0, 0, 0], 1 - 190 / bright) : colour;
}

export const named = (code, theme) => (code < 0 ? NONE[theme] : onGround(parsed(NAMED[code % NAMED.length]), theme));

export function ramped(share, theme) {
  if (!(share >= 0)) return NONE[theme];
  const [low, high] = ENDS[theme], at = (low + (high - low) * Math.min(1, share)) * (RAMP.length - 1);
  const left = Math.min(RAMP.length - 2, Math.floor(at));
  return towards(parsed(RAMP[left]), parsed(RAMP[left + 1]), at - left);
}

export const css = (colour) => `rgb(${colour.map(Math.round).join(" ")})`;
