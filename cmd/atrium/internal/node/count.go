package node

import "strconv"

// Count returns a number with the noun that it counts, in the plural unless the number is 1. The noun forms its plural
// with an s.
func Count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}
