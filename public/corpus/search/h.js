(window.storeSearch = window.storeSearch || {})["corpus/search/h.json"] = {
  "format": "store-search-shard/v1",
  "shard": "h",
  "prefix": "h",
  "hosts": [
    {
      "host": "hammer.hill.street",
      "at": 0,
      "path": "/corpus/host/hammer.hill.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "anchor.hill.street",
      "at": 7,
      "path": "/corpus/host/anchor.hill.street",
      "line": "broken — 0 of 4, W43–W46"
    },
    {
      "host": "barrel.hill.street",
      "at": 7,
      "path": "/corpus/host/barrel.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "candle.hill.street",
      "at": 7,
      "path": "/corpus/host/candle.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "drum.hill.street",
      "at": 5,
      "path": "/corpus/host/drum.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "easel.hill.street",
      "at": 6,
      "path": "/corpus/host/easel.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "flask.hill.street",
      "at": 6,
      "path": "/corpus/host/flask.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "globe.hill.street",
      "at": 6,
      "path": "/corpus/host/globe.hill.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "hammer.hill.street",
      "at": 7,
      "path": "/corpus/host/hammer.hill.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "ivory.hill.street",
      "at": 6,
      "path": "/corpus/host/ivory.hill.street",
      "line": "indeterminate — 3 of 4, W43–W46"
    },
    {
      "host": "jar.hill.street",
      "at": 4,
      "path": "/corpus/host/jar.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "knot.hill.street",
      "at": 5,
      "path": "/corpus/host/knot.hill.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "ladle.hill.street",
      "at": 6,
      "path": "/corpus/host/ladle.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "yarn.hill.street",
      "at": 5,
      "path": "/corpus/host/yarn.hill.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "hull.quay.street",
      "at": 0,
      "path": "/corpus/host/hull.quay.street",
      "line": "indeterminate — 1 of 1, W46–W46"
    }
  ]
};
