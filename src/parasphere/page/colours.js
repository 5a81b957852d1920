// Colours of points: those of topics and values, and a ramp for numbers, on light and dark backgrounds.

const RAMP = ["#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725"]; // viridis
const ENDS = { light: [0, 0.88], dark: [0.28, 1] }; // the visible part of the ramp per theme

export const parsed = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

export function ramped(share, theme) {
  const [low, high] = ENDS[theme], at = (low + (high - low) * Math.min(1, Math.max(0, share))) * (RAMP.length - 1);
  const left = Math.min(RAMP.length - 2, Math.floor(at)), to = parsed(RAMP[left + 1]);
  return parsed(RAMP[left]).map((value, i) => value + (to[i] - value) * (at - left));
}

export const css = (colour) => `rgb(${colour.map(Math.round).join(" ")})`;
