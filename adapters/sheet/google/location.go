// Package google reads Google Sheets through their REST interface (https://developers.google.com/sheets/api).
//
// It sends as few requests as possible: first for the tabs and the first rows of one tab at the same time, then only
// for the rows of another chosen tab. It repeats no request within 30 s.
package google

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/source"
)

// pathForm matches the path at which browsers show a sheet; /u/1 names which of several accounts is used. A published
// sheet (/d/e/…) does not match: it is a file.
var pathForm = regexp.MustCompile(`^/spreadsheets/(?:u/\d{1,3}/)?d/([A-Za-z0-9_-]+)(?:/.*)?$`)

// How many characters a sheet's id has; Google documents no limits, and gives 44.
const minSheetID, maxSheetID = 10, 128

var gidForm = regexp.MustCompile(`^\d{1,10}$`)

// place is a sheet, and the tab of which a browser's address has the id in gid.
type place struct {
	sheet string
	gid   string
}

// parse reads the address that a browser shows.
func parse(location string) (place, bool) {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "https" || u.Host != "docs.google.com" || u.User != nil ||
		len(location) > source.MaxLocation {
		return place{}, false
	}
	m := pathForm.FindStringSubmatch(u.Path)
	if m == nil || len(m[1]) < minSheetID || len(m[1]) > maxSheetID || strings.Contains(u.Path, "/export") ||
		strings.Contains(u.Path, "/pub") {
		return place{}, false
	}
	p := place{sheet: m[1]}
	fragment, err := url.ParseQuery(u.Fragment)
	if err != nil {
		fragment = nil
	}
	for _, gid := range []string{fragment.Get("gid"), u.Query().Get("gid")} {
		if p.gid == "" && gidForm.MatchString(gid) {
			p.gid = gid
		}
	}
	return p, true
}

// Owns reports whether a location is a Google Sheet.
func Owns(location string) bool {
	_, ok := parse(location)
	return ok
}

// a1 names a range as A1 notation has it: the columns and rows that are shown, of a tab, or of the
// first one that is not hidden.
func a1(title string, headerRow int) string {
	skip, rows := column.Window(headerRow)
	cells := fmt.Sprintf("A%d:%s%d", skip+1, column.Letters(column.MaxColumns-1), skip+rows)
	if title == "" {
		return cells
	}
	return "'" + strings.ReplaceAll(title, "'", "''") + "'!" + cells
}
