(window.storeSearch = window.storeSearch || {})["corpus/search/k.json"] = {
  "format": "store-search-shard/v1",
  "shard": "k",
  "prefix": "k",
  "hosts": [
    {
      "host": "keel.quay.street",
      "at": 0,
      "path": "/corpus/host/keel.quay.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "kettle.dock.street",
      "at": 0,
      "path": "/corpus/host/kettle.dock.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "knot.hill.street",
      "at": 0,
      "path": "/corpus/host/knot.hill.street",
      "line": "established — 4 of 4, W43–W46"
    },
    {
      "host": "xn--bcher-kva.street",
      "at": 10,
      "path": "/corpus/host/xn--bcher-kva.street",
      "line": "established — 4 of 4, W43–W46"
    }
  ]
};
