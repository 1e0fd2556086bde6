package probe

func bazaarExtension() Check {
	return Check{
		Name: "bazaar-extension",
		Doc: Doc{
			Title:    "A declared bazaar extension has an info object",
			Reason:   "Catalogues list a door by this block; one that cannot be read keeps the door out of them. A door without the extension is not judged by this check.",
			Citation: "x402 extensions: bazaar",
		},
		Fix:   "Give extensions.bazaar an info object with input and, where there is one, output; or leave the extension out.",
		After: "x402-version",
		Since: "2026-05-01",
		Run: func(v *View) Finding {
			switch {
			case !v.declares("bazaar"):
				return nothing("not declared")
			case v.extension("bazaar") == nil:
				return fail("extensions.bazaar is %s", shown(obj(v.terms, "extensions"), "bazaar"))
			case obj(v.extension("bazaar"), "info") == nil:
				return fail("extensions.bazaar.info is %s", shown(v.extension("bazaar"), "info"))
			}
			return pass("info can be read")
		},
	}
}
