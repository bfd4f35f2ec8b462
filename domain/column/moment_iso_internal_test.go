package column

import "testing"

func TestMomentsOfDatabasesAreReadLikeOthers(t *testing.T) {
	quick := 0
	for _, day := range []string{"2026-03-14", "2024-02-29", "2026-02-29", "2026-13-01", "0001-01-01", "2026-3-14",
		"2026/03/14", "10000-01-01"} {
		for _, clock := range []string{"", " 10:00:00", "T10:00:00", "T23:59:59.123450", " 24:00:00", " 10:60:00",
			" 10:00", " 10:00:00.", " 10:00:00.1234567890", " 10:00:00 PM", "x"} {
			for _, zone := range []string{"", "Z", "+00", "+00:00", "-00", "-00:00", "+01", "-05:30", "+0530", " UTC",
				"+1"} {
				text := day + clock + zone
				for _, withTime := range []bool{true, false} {
					got, ok := isoMoment(text, withTime)
					if !ok {
						continue
					}
					quick++
					if want, reason := slowMoment(text, withTime, Warehouse); reason != "" || want.Text != got {
						t.Errorf("%q is %q, and by the forms of people %v %s", text, got, want.Text, reason)
					}
				}
			}
		}
	}
	if quick < 50 {
		t.Errorf("only %d texts are read quickly", quick)
	}
}
