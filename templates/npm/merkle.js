// Merkle trees as in RFC 6962.
import { concat, digest } from "./bytes.js";
import { need } from "./refused.js";

const leafMark = Uint8Array.of(0), nodeMark = Uint8Array.of(1);

export const leafHash = (leaf) => digest(leafMark, leaf);

// rootOf is the root over leaves.
export function rootOf(leaves) {
  if (leaves.length === 0) return digest();
  if (leaves.length === 1) return leafHash(leaves[0]);
  const middle = 2 ** (31 - Math.clz32(leaves.length - 1));
  return digest(nodeMark, rootOf(leaves.slice(0, middle)), rootOf(leaves.slice(middle)));
}

// rootAbove is the root of a tree of some size to which hashes lead from the leaf at an index (RFC
// 9162, section 2.1.3.2).
export function rootAbove(leaf, index, size, hashes) {
  need(Number.isSafeInteger(index) && Number.isSafeInteger(size) && index >= 0 && index < size,
    "checking proof: a leaf outside its tree");
  let at = BigInt(index), last = BigInt(size) - 1n, h = leafHash(leaf);
  for (const beside of hashes) {
    need(last > 0n && beside.length === 32, "checking proof: hashes that lead past the root");
    if (at & 1n || at === last) {
      h = digest(concat(nodeMark, beside, h));
      for (; at && !(at & 1n); at >>= 1n) last >>= 1n;
    } else {
      h = digest(concat(nodeMark, h, beside));
    }
    at >>= 1n;
    last >>= 1n;
  }
  need(last === 0n, "checking proof: hashes that do not lead to the root");
  return h;
}
