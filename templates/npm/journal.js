// Where a buyer keeps its purchases. A journal is three functions, which may return promises:
//
//   create(purchase)    keeps a new one, and gives false where its id is there already
//   replace(purchase)   keeps another state of one
//   all()               gives all of them
//
// A purchase is a plain object with an id of 64 digits of hex. create and replace return when it is
// durable, and two creates of one id never both succeed, whichever process calls them. What is kept
// pays: whoever reads a purchase that is under way can present its payment.

// storageJournal keeps them in a browser's localStorage, or in anything like it. Tabs take turns by a
// lock, where the browser has locks.
export function storageJournal(storage = globalThis.localStorage, prefix = "agentstore-purchase-") {
  const locks = globalThis.navigator?.locks;
  const alone = (work) => locks ? locks.request(prefix, work) : work();
  return {
    create: (purchase) => alone(() => {
      const name = prefix + purchase.id, isNew = storage.getItem(name) === null;
      if (isNew) storage.setItem(name, JSON.stringify(purchase));
      return isNew;
    }),
    replace: (purchase) => storage.setItem(prefix + purchase.id, JSON.stringify(purchase)),
    all: () => Array.from({ length: storage.length }, (_, i) => storage.key(i))
      .filter((name) => name.startsWith(prefix)).map((name) => JSON.parse(storage.getItem(name))),
  };
}
