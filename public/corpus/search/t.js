(window.storeSearch = window.storeSearch || {})["corpus/search/t.json"] = {
  "format": "store-search-shard/v1",
  "shard": "t",
  "prefix": "t",
  "hosts": [
    {
      "host": "tally.dock.street",
      "at": 0,
      "path": "/corpus/host/tally.dock.street",
      "line": "broken — 3 of 4, W43–W46"
    },
    {
      "host": "tide.gate.street",
      "at": 0,
      "path": "/corpus/host/tide.gate.street",
      "line": "broken — 0 of 4, W43–W46"
    }
  ]
};
