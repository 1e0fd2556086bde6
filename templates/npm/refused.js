// Refused says why something is not taken. rule is the name of the rule of store-corpus/v1 that it
// breaks, as the store's own verifier names it; "" where the format has no named rules.
export class Refused extends Error {
  constructor(message, rule = "") {
    super(message);
    this.name = "Refused";
    this.rule = rule;
  }
}

// need refuses what does not hold.
export function need(holds, message, rule) {
  if (!holds) throw new Refused(message, rule);
}

// under says by which rule it is refused what is read inside, unless that names one itself.
export function under(rule, read) {
  try {
    return read();
  } catch (e) {
    throw e instanceof Refused && !e.rule ? new Refused(e.message, rule) : e;
  }
}
