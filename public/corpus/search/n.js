(window.storeSearch = window.storeSearch || {})["corpus/search/n.json"] = {
  "format": "store-search-shard/v1",
  "shard": "n",
  "prefix": "n",
  "hosts": [
    {
      "host": "needle.dock.street",
      "at": 0,
      "path": "/corpus/host/needle.dock.street",
      "line": "indeterminate — 3 of 4, W43–W46"
    }
  ]
};
