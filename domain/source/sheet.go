package source

import (
	"net/url"
	"slices"
	"strings"

	"github.com/atrium-hq/atrium/domain/column"
	"github.com/atrium-hq/atrium/domain/connection"
)

// Limits of what is read and shown from a sheet.
const (
	MaxTabs       = 200      // of a sheet; those after them are omitted
	MaxHeaderRow  = 1000     // largest row of a header
	MaxLocation   = 2048     // characters of a location's URL
	MaxTabTitle   = 100      // characters of a tab's title; longer ones are cut
	MaxSheetBytes = 64 << 20 // of a file
)

// FileScheme begins a file's location in the data directory's folder "sheets": file:contacts.csv.
const FileScheme = "file:"

// SheetLocation is where a table is: the sheet, the tab and the header row.
type SheetLocation struct {
	URL       string // https, or FileScheme and a bare file name
	Tab       string // id or title; empty: the one that the URL names (#gid=…), else the first that is not hidden
	HeaderRow int    // from 1 to MaxHeaderRow; 0: the likeliest of the first column.HeaderWindow rows; column.NoHeader

	// Of CSV and other text, and ignored for other files. Empty: they are detected.
	Charset   string // name of the WHATWG Encoding Standard, in lower case
	Delimiter string // comma, semicolon, tab or pipe

	// Of .xlsx, and ignored for other files: one of Locales, in which dates are shown that have the format of the
	// reader's system. Empty: the org's.
	Locale string
}

// Sheet is what was read from a spreadsheet: its tabs, and the first rows of one of them.
type Sheet struct {
	Title   string // title of the document, or the file name
	Tabs    []Tab  // in order, MaxTabs at most
	Tab     Tab    // the one that was read
	Preview column.Preview

	Charset   string // that CSV was read with, as in SheetLocation; "" for other files
	Delimiter string // likewise
	Locale    string // that .xlsx was read in, as in SheetLocation; "" for other files
	TotalsRow int    // number of the totals row of the table below the header, which rows leave out; 0 for none
}

// Tab is one sheet table.
type Tab struct {
	ID      string // stays when the title changes, if the format supports that
	Title   string
	Rows    int // an estimate, header included; -1 if unknown without reading everything
	Columns int // likewise
	Hidden  bool
}

// Host returns the place that limits count reads of sheets by: the host and port of the URL. For
// Google, whose host has everyone's sheets, it includes the document. For a URL without a host it is
// the whole URL.
func (l SheetLocation) Host() string {
	u, err := url.Parse(l.URL)
	if err != nil || u.Host == "" {
		return l.URL
	}
	if strings.EqualFold(u.Hostname(), "docs.google.com") {
		return u.Host + u.Path
	}
	return u.Host
}

// AccountKind returns the kind of the connection that can read sheets of this location's host; "" if they are read
// without a connection.
func (l SheetLocation) AccountKind() connection.Kind {
	u, err := url.Parse(l.URL)
	if err != nil {
		return ""
	}
	switch host := strings.ToLower(u.Hostname()); {
	case host == "docs.google.com":
		return connection.GoogleSheets
	case host == "graph.microsoft.com", host == "1drv.ms", host == "onedrive.live.com",
		strings.HasSuffix(host, ".sharepoint.com"):
		return connection.Microsoft365
	}
	return ""
}

// TabTitle returns s as the title of a tab or of a document, cut to MaxTabTitle characters.
func TabTitle(s string) string { return column.Clean(s, MaxTabTitle) }

// FindTab returns the tab that a location names, by its id or else its title. Without a name it returns
// the first tab that is not hidden, or else the first. Returns ErrTabNotFound if not found.
func FindTab(tabs []Tab, name string) (Tab, error) {
	if name != "" {
		for _, match := range []func(Tab) bool{
			func(t Tab) bool { return t.ID == name },
			func(t Tab) bool { return t.Title == name },
			func(t Tab) bool { return strings.EqualFold(t.Title, name) },
		} {
			if i := slices.IndexFunc(tabs, match); i >= 0 {
				return tabs[i], nil
			}
		}
		return Tab{}, ErrTabNotFound
	}
	if i := slices.IndexFunc(tabs, func(t Tab) bool { return !t.Hidden }); i >= 0 {
		return tabs[i], nil
	}
	if len(tabs) == 0 {
		return Tab{}, ErrTabNotFound
	}
	return tabs[0], nil
}
