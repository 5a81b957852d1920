// Reads what packing.py packed.

// The bytes of a text of seven bits per character.
export function bytesOf(text) {
  const bytes = new Uint8Array(Math.floor((7 * text.length) / 8));
  for (let i = 0, at = 0, held = 0, bits = 0; i < text.length; i++) {
    held = ((held << 7) | (text.charCodeAt(i) & 127)) & 0x3fff;
    bits += 7;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = held >> bits;
    }
  }
  return bytes;
}

const KINDS = { u1: Uint8Array, i1: Int8Array, i2: Int16Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array, f8: Float64Array };

// { facts, arrays } of a packed text.
export async function unpacked(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer(), size = new DataView(buffer).getUint32(0, true);
  const { facts, arrays } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
  for (const [name, [kind, begin, many]] of Object.entries(arrays)) arrays[name] = new KINDS[kind](buffer, 8 + size + begin, many);
  return { facts, arrays };
}

// A function of a row to its string, of strings as their bytes and the number of bytes of each.
export function strings(bytes, sizes) {
  const begins = new Uint32Array(sizes.length + 1), decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  sizes.forEach((size, i) => { begins[i + 1] = begins[i] + size; });
  return (row) => decoder.decode(bytes.subarray(begins[row], begins[row + 1]));
}

// Numbers in seven bits per byte.
export function varints(bytes) {
  let many = 0;
  for (const byte of bytes) many += byte < 128;
  const numbers = new Uint32Array(many);
  for (let i = 0, at = 0, shift = 0; i < bytes.length; i++) {
    numbers[at] |= (bytes[i] & 127) << shift;
    if (bytes[i] < 128) { at++; shift = 0; } else shift += 7;
  }
  return numbers;
}
