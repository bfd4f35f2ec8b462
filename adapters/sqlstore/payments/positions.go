package payments

import (
	"strconv"
	"strings"
)

// position returns an item's cursor in a list that is ordered by time, then by identifier.
func position(micros int64, id string) string { return strconv.FormatInt(micros, 10) + " " + id }

func cutPosition(cursor string) (micros int64, id string, ok bool) {
	text, id, _ := strings.Cut(cursor, " ")
	micros, err := strconv.ParseInt(text, 10, 64)
	return micros, id, err == nil
}
