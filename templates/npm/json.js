// JSON as signed things are written: no name stands twice, and what two readers could take for two
// numbers is refused. An object is a Map, since no other one keeps the order of all names.
import { text as decoded, utf8 } from "./bytes.js";
import { need } from "./refused.js";

const deepest = 100;

// parse reads one JSON value from a text or its UTF-8.
export function parse(raw) {
  const text = decoded(raw);
  const blank = /[ \t\n\r]*/y;
  const word = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
  const quoted = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
  let at = 0;
  const take = (pattern, what) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    need(found, `reading JSON: no ${what} at character ${at + 1}`);
    at = pattern.lastIndex;
    return found[0];
  };
  const next = () => (take(blank, "blank"), text[at]);
  const string = () => {
    next();
    const s = JSON.parse(take(quoted, "text"));
    need(s.isWellFormed(), "reading JSON: half a character stands alone");
    return s;
  };
  // list reads what stands between brackets, each with a comma before it but the first.
  const list = (close, each) => {
    at++;
    for (let first = true; next() !== close; first = false) {
      if (!first) take(/,/y, "comma");
      each();
    }
    at++;
  };
  const value = (depth) => {
    need(depth < deepest, `reading JSON: more than ${deepest} levels`);
    switch (next()) {
      case '"':
        return string();
      case "[": {
        const all = [];
        list("]", () => all.push(value(depth + 1)));
        return all;
      }
      case "{": {
        const all = new Map();
        list("}", () => {
          const name = string();
          need(!all.has(name), `reading JSON: the name ${JSON.stringify(name)} stands twice`);
          next();
          take(/:/y, "colon");
          all.set(name, value(depth + 1));
        });
        return all;
      }
      default:
        return plainWord(take(word, "value"));
    }
  };
  const all = value(0);
  need(next() === undefined, "reading JSON: more than one value");
  return all;
}

function plainWord(word) {
  const v = JSON.parse(word);
  if (typeof v !== "number") return v;
  need(Number.isFinite(v), `number outside what signed JSON may hold: ${word} is beyond the range of doubles`);
  need(!Number.isInteger(v) || Number.isSafeInteger(v),
    `number outside what signed JSON may hold: ${word} is beyond 2^53-1`);
  return v;
}

// canonical writes a value as it is signed: compact, its members in their order.
export function canonical(v) {
  if (v instanceof Map) return `{${[...v].map(([k, x]) => `${JSON.stringify(k)}:${canonical(x)}`).join()}}`;
  if (Array.isArray(v)) return `[${v.map(canonical).join()}]`;
  return JSON.stringify(v);
}

// jcs writes a value in the form of RFC 8785: names are sorted by their UTF-16, as JavaScript does.
export const jcs = (v) => canonical(sorted(v));

function sorted(v) {
  if (v instanceof Map) return new Map([...v.keys()].sort().map((k) => [k, sorted(v.get(k))]));
  return Array.isArray(v) ? v.map(sorted) : v;
}

// exact reads a value that was written by canonical, and refuses every other spelling of it, and
// numbers that are no integers.
export function exact(raw) {
  const text = decoded(raw), v = parse(text);
  need(canonical(v) === text, "not in canonical form");
  need(integersOnly(v), "number outside what signed JSON may hold: it is not an integer");
  return v;
}

function integersOnly(v) {
  if (v instanceof Map) return [...v.values()].every(integersOnly);
  return Array.isArray(v) ? v.every(integersOnly) : typeof v !== "number" || Number.isInteger(v);
}

// length is how many bytes a text has between its quotation marks, as canonical writes it.
export const length = (text) => utf8(JSON.stringify(text)).length - 2;

// plain makes plain objects of what parse read.
export function plain(v) {
  if (v instanceof Map) return Object.fromEntries([...v].map(([k, x]) => [k, plain(x)]));
  return Array.isArray(v) ? v.map(plain) : v;
}
