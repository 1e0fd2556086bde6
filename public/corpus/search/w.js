(window.storeSearch = window.storeSearch || {})["corpus/search/w.json"] = {
  "format": "store-search-shard/v1",
  "shard": "w",
  "prefix": "w",
  "hosts": [
    {
      "host": "well.gate.street",
      "at": 0,
      "path": "/corpus/host/well.gate.street",
      "line": "standing — 8 of 8, W39–W46"
    },
    {
      "host": "wick.dock.street",
      "at": 0,
      "path": "/corpus/host/wick.dock.street",
      "line": "broken — 0 of 4, W43–W46"
    }
  ]
};
