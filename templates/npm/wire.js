// Requests of a buyer, within bounds.
import { parse, plain } from "./json.js";
import { need } from "./refused.js";

const most = 8 << 20, longest = 90_000, longestWait = 60_000;

// ask sends a request of a buyer, with a payment if there is one, and gives {status, headers, said,
// text, after}: said is the JSON of the body, {} for none, after how many milliseconds to wait before
// asking again, where the answer says that.
export async function ask(buyer, { url, body, key, token }, payment) {
  const headers = { Accept: "application/json" };
  if (key) headers["Idempotency-Key"] = key;
  if (token) headers.Authorization = `Bearer ${token}`;
  if (payment) headers["PAYMENT-SIGNATURE"] = payment;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  // A payment and a token go to no other address than theirs.
  const answer = await buyer.fetch(url, { method: body === undefined ? "GET" : "POST", headers, body, redirect: "error",
    signal: AbortSignal.timeout(longest) });
  const text = await bounded(answer), seconds = answer.headers.get("Retry-After");
  return { status: answer.status, headers: answer.headers, text, said: object(text, answer.ok),
    after: /^\d{1,6}$/.test(seconds) ? Math.min(seconds * 1000, longestWait) : undefined };
}

async function bounded(answer) {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let text = "";
  for (const reader = answer.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > most) await reader.cancel();
    need(text.length <= most, `an answer of more than ${most} bytes`);
  }
}

// object is the JSON object of a body; what is none is of somebody between.
function object(text, must) {
  try {
    const v = parse(text);
    if (v instanceof Map) return plain(v);
  } catch (e) {
    if (must) throw e;
  }
  need(!must, "an answer that is no JSON object");
  return {};
}
