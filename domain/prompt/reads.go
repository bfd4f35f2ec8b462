package prompt

import "time"

// ReadsKept is the time for which reads are kept.
const ReadsKept = 400 * 24 * time.Hour

// ReadsListed is the period over which lists of versions count reads.
const ReadsListed = 30

// Day is a day in UTC: the number of days since 1970-01-01. The zero Day means none.
type Day int

// DayOf returns a time's day.
func DayOf(t time.Time) Day { return Day(t.Unix() / (24 * 60 * 60)) }

// ParseDay reads a day as String writes it. It returns the zero Day for anything else.
func ParseDay(s string) Day {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0
	}
	return DayOf(t)
}

// Begin returns the first moment of d.
func (d Day) Begin() time.Time { return time.Unix(int64(d)*24*60*60, 0).UTC() }

// String returns d as 2006-01-02.
func (d Day) String() string { return d.Begin().Format(time.DateOnly) }

// Read is a version on a day.
type Read struct {
	Version VersionID
	Day     Day
}

// Reads is the number of times that applications read one version on one day.
type Reads struct {
	Read
	Number int // of the version
	Count  int64
}
