package stockclient

// Select replays the choice alone on a challenge as JSON. It returns the index in accepts, or the
// client's exact error text, and why the others dropped out. The error is not nil when the JSON
// cannot be simulated or parsed.
func Select(challenge []byte, c Config) (index int, throws string, dropped []Dropped, err error) {
	v, err := parse(challenge)
	if err != nil {
		return -1, "", nil, err
	}
	r := run{config: c}
	e, err := r.choose(v)
	if err != nil {
		return -1, err.Error(), r.dropped, nil
	}
	return e.index, "", r.dropped, nil
}
