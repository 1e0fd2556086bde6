// Bytes and their spellings. Each has one: what would be written in another way is refused.
import { ed25519 } from "@noble/curves/ed25519";
import { sha256 } from "@noble/hashes/sha2";
import { need } from "./refused.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export const utf8 = (text) => encoder.encode(text);

// text is what UTF-8 spells; a text is itself.
export function text(bytes) {
  if (typeof bytes === "string") {
    need(bytes.isWellFormed(), "half a character stands alone");
    return bytes;
  }
  try {
    return decoder.decode(bytes);
  } catch {
    need(false, "it is not UTF-8");
  }
}

export function concat(...parts) {
  const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  parts.reduce((at, p) => (all.set(p, at), at + p.length), 0);
  return all;
}

export const toHex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");

export function fromHex(digits) {
  need(typeof digits === "string" && /^([0-9a-f]{2})*$/.test(digits), "it is not lower-case hexadecimal");
  return Uint8Array.from(digits.match(/../g) ?? [], (two) => parseInt(two, 16));
}

export const toBase64 = (bytes) => btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(""));

export function fromBase64(coded) {
  let bytes;
  try {
    bytes = Uint8Array.from(atob(coded), (c) => c.charCodeAt(0));
  } catch {
    need(false, "it is not base64");
  }
  need(toBase64(bytes) === coded, "it is base64 that is spelt in another way");
  return bytes;
}

export const toBase64URL = (bytes) =>
  toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

export function fromBase64URL(coded) {
  need(/^[-_A-Za-z0-9]*$/.test(coded), "it is not base64url");
  const plain = coded.replaceAll("-", "+").replaceAll("_", "/");
  return fromBase64(plain + "=".repeat((4 - plain.length % 4) % 4));
}

// compare orders by bytes: negative, 0 or positive.
export function compare(a, b) {
  for (let i = 0; i < Math.min(a.length, b.length); i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

export const digest = (...parts) => sha256(concat(...parts));

// signed reports whether a key, 64 digits of hex, made a signature over bytes (RFC 8032).
export function signed(key, signature, bytes) {
  try {
    return ed25519.verify(signature, bytes, fromHex(key), { zip215: false });
  } catch {
    return false; // a key or a signature that is none
  }
}

// thumbprint is the kid of an ed25519 key, 64 digits of hex (RFC 7638 and RFC 8037).
export const thumbprint = (key) =>
  toBase64URL(digest(utf8(`{"crv":"Ed25519","kty":"OKP","x":"${toBase64URL(fromHex(key))}"}`)));
