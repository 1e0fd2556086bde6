(window.storeSearch = window.storeSearch || {})["corpus/search/u.json"] = {
  "format": "store-search-shard/v1",
  "shard": "u",
  "prefix": "u",
  "hosts": [
    {
      "host": "umbrella.dock.street",
      "at": 0,
      "path": "/corpus/host/umbrella.dock.street",
      "line": "broken — 2 of 4, W43–W46"
    },
    {
      "host": "urn.gate.street",
      "at": 0,
      "path": "/corpus/host/urn.gate.street",
      "line": "broken — 0 of 4, W43–W46"
    }
  ]
};
