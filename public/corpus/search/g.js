(window.storeSearch = window.storeSearch || {})["corpus/search/g.json"] = {
  "format": "store-search-shard/v1",
  "shard": "g",
  "prefix": "g",
  "hosts": [
    {
      "host": "arch.gate.street",
      "at": 5,
      "path": "/corpus/host/arch.gate.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "mail.gate.street",
      "at": 5,
      "path": "/corpus/host/mail.gate.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "oil.gate.street",
      "at": 4,
      "path": "/corpus/host/oil.gate.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "post.gate.street",
      "at": 5,
      "path": "/corpus/host/post.gate.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "quote.gate.street",
      "at": 6,
      "path": "/corpus/host/quote.gate.street",
      "line": "indeterminate — 0 of 4, W43–W46"
    },
    {
      "host": "rope.gate.street",
      "at": 5,
      "path": "/corpus/host/rope.gate.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "sand.gate.street",
      "at": 5,
      "path": "/corpus/host/sand.gate.street",
      "line": "indeterminate — 0 of 2, W45–W46"
    },
    {
      "host": "tide.gate.street",
      "at": 5,
      "path": "/corpus/host/tide.gate.street",
      "line": "broken — 0 of 4, W43–W46"
    },
    {
      "host": "urn.gate.street",
      "at": 4,
      "path": "/corpus/host/urn.gate.street",
      "line": "broken — 0 of 4, W43–W46"
    },
    {
      "host": "vault.gate.street",
      "at": 6,
      "path": "/corpus/host/vault.gate.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "well.gate.street",
      "at": 5,
      "path": "/corpus/host/well.gate.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "yard.gate.street",
      "at": 5,
      "path": "/corpus/host/yard.gate.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "zinc.gate.street",
      "at": 5,
      "path": "/corpus/host/zinc.gate.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "globe.hill.street",
      "at": 0,
      "path": "/corpus/host/globe.hill.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "gull.quay.street",
      "at": 0,
      "path": "/corpus/host/gull.quay.street",
      "line": "indeterminate — 3 of 3, W44–W46"
    }
  ]
};
