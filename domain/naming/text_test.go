package naming_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/fault"
	"github.com/atrium-hq/atrium/domain/naming"
)

func TestTextsReadAsTheyAreWritten(t *testing.T) {
	for text, isReordered := range map[string]bool{
		"": false, "Two\nlines\tand a tab": false, "שלום עולם\u200f": false, "\u061cنص": false, "👨\u200d👩": false,
		"invoice\u202efdp.exe": true, "\u202aa": true, "a\u202b": true, "\u202c": true, "\u202d": true,
		"\u2066a\u2069": true, "\u2067": true, "\u2068": true,
	} {
		var errs fault.Fields
		naming.CheckText(&errs, "/text", text)
		if (len(errs) == 1) != isReordered || naming.Reordered(text) != isReordered {
			t.Errorf("%q: %+v", text, errs)
		}
	}
}
