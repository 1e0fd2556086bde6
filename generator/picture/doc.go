// Package picture draws the pictures that others show beside a link to a page (Open Graph), and the
// icon of a telephone's home screen: PNG files of few colours, paper and ink as on the pages.
//
// A picture is a pure function of what it is given, and the same program draws the same bytes on
// any day: it reads no clock, no file and no font of the machine. The fonts are Go's own, which
// know the Latin, Greek and Cyrillic letters; what they cannot draw is left out, since a title
// stands beside the picture as text wherever one is shown.
//
//	file, err := picture.Draw(picture.Preview{Sign: "The General Store", Title: "Hello",
//		Tag: "0.5 USDC"})
package picture
