package openapi

import (
	"encoding/json"
	"errors"
	"regexp"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/atrium-hq/atrium/adapters/rest/openapi/nullable"
)

// Time is a time as it is in bodies: RFC 3339 in UTC with milliseconds.
type Time time.Time

const timeLayout = "2006-01-02T15:04:05.000Z07:00"

// rfc3339 refuses values that time.Parse accepts: hours of one digit, a comma, offsets of 99 hours.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

var errTime = errors.New("not a time of RFC 3339")

// IsZero reports whether t is the zero time, which encoding/json leaves out under omitzero.
func (t Time) IsZero() bool { return time.Time(t).IsZero() }

// MarshalJSON truncates to milliseconds.
func (t Time) MarshalJSON() ([]byte, error) { return t.appendTo(nil), nil }

// MarshalJSONTo is MarshalJSON for version 2 of encoding/json, without allocations.
func (t Time) MarshalJSONTo(encoder *jsontext.Encoder) error {
	return encoder.WriteValue(t.appendTo(encoder.AvailableBuffer()))
}

func (t Time) appendTo(b []byte) []byte {
	return append(time.Time(t).UTC().AppendFormat(append(b, '"'), timeLayout), '"')
}

// UnmarshalJSON accepts any offset and any precision. Its error does not quote the input.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) != nil {
		return errTime
	}
	moment, err := parseTime(s)
	*t = Time(moment)
	return err
}

// parseTime parses the format date-time. The check of requests and the handlers both use it, so that a value that
// passed the check cannot fail in a handler.
func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || !rfc3339.MatchString(s) {
		return time.Time{}, errTime
	}
	return t.UTC(), nil
}

// OrNull returns v, or null if v is its type's zero value: "" for no cursor, the zero Time for
// never. A required nullable member must be set by it or by package nullable: the zero
// nullable.Nullable encodes as the zero value of its type, not as null.
func OrNull[T comparable](v T) nullable.Nullable[T] {
	var zero T
	if v == zero {
		return nullable.NewNullNullable[T]()
	}
	return nullable.NewNullableWithValue(v)
}
