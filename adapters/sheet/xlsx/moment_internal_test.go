package xlsx

import "testing"

func TestADayIsCountedInTheCalendarOfTheWorkbook(t *testing.T) {
	for _, tt := range []struct {
		dates  string
		serial float64
		want   string
	}{
		{"", 0, ""}, {"", 0.75, ""}, {"", 1, "1900-01-01T00:00:00"}, {"", 59.5, "1900-02-28T12:00:00"}, {"", 60, ""},
		{"", 60.5, ""}, {"", 61, "1900-03-01T00:00:00"}, {"", 59.9999999999, ""},
		{"", 2958465.999999, "9999-12-31T23:59:59.914"}, {"", 2958466, ""}, {"", -1, ""}, {"", 1e300, ""},
		{"1", 0, "1904-01-01T00:00:00"}, {"true", 5.25, "1904-01-06T06:00:00"}, {"1", -1, ""},
	} {
		b := workbook{dates: tt.dates}
		got := ""
		if moment := b.moment(tt.serial); moment != nil {
			got = *moment
		}
		if got != tt.want {
			t.Errorf("%v, dates %q: %q, want %q", tt.serial, tt.dates, got, tt.want)
		}
	}
}
