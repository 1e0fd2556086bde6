package content

// Fulfilment says how a good reaches its buyer.
type Fulfilment string

// The three ways.
const (
	Instant Fulfilment = "instant" // in the purchase response
	Human   Fulfilment = "human"   // by the keeper, within a window
	Term    Fulfilment = "term"    // over a fixed number of days
)

// The kinds of goods. Every kind is one way of making; goods share a kind when
// they differ in words alone. The rules are kept by whoever makes the goods;
// here a kind decides which fields the entries of its pool carry.
const (
	KindGreeting   = "greeting"   // any entry
	KindBlessing   = "blessing"   // any entry but the payer's last one
	KindDaily      = "daily"      // one entry per payer and UTC day
	KindConfession = "confession" // any entry; the input stays private, its digest is signed
	KindClaim      = "claim"      // the input, dated; the entry is the keeper's line beside it
	KindName       = "name"       // a name with its reason
	KindTuesday    = "tuesday"    // an entry once for ever, numbered in order of sale
	KindRock       = "rock"       // an entry with a drawing
	KindLuckies    = "luckies"    // an animal with a drawing
	KindGrudge     = "grudge"     // the input held; the entry says how
	KindPortrait   = "portrait"   // a drawing of the payer's address with a caption
	KindDrawer     = "drawer"     // an entry once for ever, stock counted
	KindSecret     = "secret"     // an entry once for ever, never public
	KindWord       = "word"       // the input or an entry, once for ever, on the public register
	KindPatronage  = "patronage"  // thanks, and the nicer badge
)

// Field is a field of a pool entry.
type Field string

// The fields an entry can carry beside its text.
const (
	FieldName        Field = "name"
	FieldWord        Field = "word"
	FieldAnimal      Field = "animal"
	FieldStrength    Field = "strength"
	FieldTemperament Field = "temperament"
	FieldDate        Field = "date"
)

// Strengths are the words an animal card may carry, weakest claim last.
var strengths = []string{"solid", "strong", "still proving itself"}

// kindRow is what the loader must know of a kind.
type kindRow struct {
	name   string
	fields []Field // beside text, all required
	unique Field   // the field that may not repeat in the pool, "" for none
	max    int     // characters in an entry's text; 0: such goods draw from no pool
}

const defaultMax = 240

var kinds = []kindRow{
	{name: KindGreeting, max: defaultMax},
	{name: KindBlessing, max: defaultMax},
	{name: KindDaily, max: defaultMax},
	{name: KindConfession, max: defaultMax},
	{name: KindClaim, max: defaultMax},
	{name: KindName, fields: []Field{FieldName}, unique: FieldName, max: defaultMax},
	{name: KindTuesday, fields: []Field{FieldDate}, unique: FieldDate, max: 400},
	{name: KindRock, fields: []Field{FieldName, FieldTemperament}, unique: FieldName, max: defaultMax},
	{name: KindLuckies, fields: []Field{FieldAnimal, FieldStrength}, unique: FieldAnimal, max: defaultMax},
	{name: KindGrudge, max: defaultMax},
	{name: KindPortrait, max: defaultMax},
	{name: KindDrawer, fields: []Field{FieldName}, unique: FieldName, max: 400},
	{name: KindSecret, max: 400},
	{name: KindWord, fields: []Field{FieldWord}, unique: FieldWord, max: defaultMax},
	{name: KindPatronage, max: defaultMax},
}

func kindOf(name string) (kindRow, bool) {
	for _, k := range kinds {
		if k.name == name {
			return k, true
		}
	}
	return kindRow{}, false
}

// Kinds returns the names of all kinds, in the order of their table.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}
