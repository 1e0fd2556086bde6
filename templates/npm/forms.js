// What an object of a record or a paper has to look like, as tables in the language of
// /spec/store-corpus/v1/forms.txt say it, whose head explains it.
import { compare, utf8 } from "./bytes.js";
import { length } from "./json.js";

const day = (v) => /^\d{4}-\d\d-\d\d$/.test(v) && !isNaN(Date.parse(v)) && new Date(v).toISOString().slice(0, 10) === v;

// weekOf is the ISO week of a date or time.
export function weekOf(time) {
  const at = new Date(time.slice(0, 10));
  at.setUTCDate(at.getUTCDate() + 4 - (at.getUTCDay() || 7)); // its Thursday, whose year is the week's
  const days = (at - Date.UTC(at.getUTCFullYear(), 0, 1)) / 86_400_000;
  return `${String(at.getUTCFullYear()).padStart(4, "0")}-W${String(Math.floor(days / 7) + 1).padStart(2, "0")}`;
}

// beginOf is when an ISO week begins, in seconds; NaN for one that its year does not have.
export function beginOf(week) {
  const fourth = new Date(`${week.slice(0, 4)}-01-04`); // is always in the first
  const begin = +fourth - ((fourth.getUTCDay() || 7) - 1) * 86_400_000 + (week.slice(6) - 1) * 604_800_000;
  return isNaN(begin) || weekOf(new Date(begin).toISOString()) !== week ? NaN : begin / 1000;
}

const basic = {
  n: (v) => Number.isSafeInteger(v) && v >= 0,
  n1: (v) => Number.isSafeInteger(v) && v > 0,
  place: (v) => Number.isSafeInteger(v) && v >= 0,
  bool: (v) => typeof v === "boolean",
  true: (v) => v === true,
  any: () => true,
  object: (v) => v instanceof Map,
  date: (v) => typeof v === "string" && day(v),
  time: (v) => typeof v === "string" && /^[-\d]{10}T([01]\d|2[0-3])(:[0-5]\d){2}Z$/.test(v) && day(v.slice(0, 10)),
  week: (v) => typeof v === "string" && /^\d{4}-W\d\d$/.test(v) && !isNaN(beginOf(v)),
};

const empty = (v) => v === "" || v === 0 || v === false || v === null || v?.length === 0 || v?.size === 0;

// readForms reads a table, and gives the function fits(kind, value).
export function readForms(table) {
  const forms = { __proto__: null, ...basic };
  const fits = (kind, v) => {
    const list = /^(\w+)([*+])(\d*)(\^?)([\w,]*)$/.exec(kind);
    if (list) return fitsList(list, v);
    const short = /^([ts])(\d*)$/.exec(kind);
    if (!short) return forms[kind](v);
    return typeof v === "string" && (short[1] === "t" || v !== "") && (!short[2] || length(v) <= short[2]);
  };
  const fitsList = ([, of, sign, most, isSorted, by], v) => {
    if (!Array.isArray(v) || v.length < (sign === "+") || most && v.length > most || !v.every((x) => fits(of, x)))
      return false;
    const keys = v.map((x) => by.split(",").map((key) => utf8(key ? x.get(key) : x)));
    const before = (a, b) => a.map((x, i) => compare(x, b[i])).find((c) => c !== 0) < 0;
    return !isSorted || keys.every((k, i) => i === 0 || before(keys[i - 1], k));
  };
  const matches = (expression) => {
    const whole = new RegExp(`^(?:${expression})$`);
    return (v) => typeof v === "string" && whole.test(v);
  };
  const object = (words) => {
    const members = words.map((word) => {
      const [, name, optional, sign, kind] = /^(\w+)(\??)([:=])(.*)$/.exec(word);
      const is = sign === "=" ? matches(kind) : (v) => fits(kind, v);
      return { name, optional: optional !== "", is, mayBeEmpty: !optional || kind === "place" || kind === "any" };
    });
    return (v) => v instanceof Map &&
      [...v.keys()].join() === members.filter((m) => v.has(m.name) || !m.optional).map((m) => m.name).join() &&
      members.every((m) => !v.has(m.name) || m.is(v.get(m.name)) && (m.mayBeEmpty || !empty(v.get(m.name))));
  };
  for (const line of table.replace(/^#.*$/gm, "").replace(/\n +/g, " ").split("\n").filter(Boolean)) {
    const [name, ...words] = line.split(" ");
    if (words[0] === "=") forms[name] = matches(words.slice(1).join(""));
    else if (words[0] === "|") forms[name] = (v) => words.some((kind, i) => i % 2 === 1 && fits(kind, v));
    else forms[name] = object(words);
  }
  return fits;
}
