package source

import (
	"net/url"
	"strings"
)

// What is shown and read of a sheet at most.
const (
	MaxCell       = 256      // characters of a cell; the rest is cut
	MaxColumns    = 200      // of a tab; those further right are left out
	MaxTabs       = 200      // of a sheet; those after them are left out
	MaxHeaderRow  = 1000     // where a header may be said to be
	HeaderWindow  = 20       // first rows in which a header is looked for
	SampleWindow  = 32       // rows below the header from which types are inferred
	ShownRows     = 2        // rows of those that are shown
	MaxLocation   = 2048     // characters of a location's URL
	MaxTabTitle   = 100      // characters of a tab's title; the rest is cut
	MaxSheetBytes = 64 << 20 // of a file
)

// FileScheme begins the location of a file in the data directory's folder sheets: file:contacts.csv.
const FileScheme = "file:"

// SheetLocation says where a table is: in which sheet, on which of its tabs, below which row.
type SheetLocation struct {
	URL       string // https, or FileScheme and a bare file name
	Tab       string // its id or its title; empty: the one that the URL names (#gid=…), else the first that is not hidden
	HeaderRow int    // from 1 to MaxHeaderRow; 0: the likeliest of the first HeaderWindow rows
}

// Sheet is a spreadsheet as far as it was read: its tabs, and the head of one of them.
type Sheet struct {
	Title   string // the document's, or its file's name
	Tabs    []Tab  // in their order, MaxTabs at most
	Tab     Tab    // the one that was read
	Preview Preview
}

// Tab is one table of a sheet.
type Tab struct {
	ID      string // stays when the title changes, as far as the format has such a thing
	Title   string
	Rows    int // an estimate, header included; -1 if nothing says so without reading everything
	Columns int // as Rows
	Hidden  bool
}

// Preview is the head of a table.
type Preview struct {
	HeaderRow  int     // from 1; 0 if the tab is empty
	Confidence float64 // from 0 to 1 that this is the header; 1 if it was given
	Headers    []Header
	Rows       [][]*string // the first ShownRows below the header, or fewer; a value for each header, nil if it is empty
}

// Header is the head of a column.
type Header struct {
	Name   string    // never empty, and different from all others of its table
	Column string    // letters as spreadsheets have them: A to GR; empty for a column of a warehouse
	Type   FieldType // of the values below
}

// Host returns what limits count as one place to read sheets from: the host and port of the URL, and for Google,
// whose host has everybody's sheets, the document too. Of a URL that has no host it is all of it.
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
