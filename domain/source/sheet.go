package source

import (
	"net/url"
	"strings"
)

// Limits of what is read and shown of a sheet.
const (
	MaxCell       = 256      // characters of a cell; longer ones are cut
	MaxColumns    = 200      // of a tab; those further right are omitted
	MaxTabs       = 200      // of a sheet; those after them are omitted
	MaxHeaderRow  = 1000     // largest row of a header
	HeaderWindow  = 20       // first rows that are searched for a header
	SampleWindow  = 32       // rows below the header from which types are inferred
	ShownRows     = 2        // of these, the rows that are shown
	MaxLocation   = 2048     // characters of a location's URL
	MaxTabTitle   = 100      // characters of a tab's title; longer ones are cut
	MaxSheetBytes = 64 << 20 // of a file
)

// FileScheme begins the location of a file in the data directory's folder "sheets": file:contacts.csv.
const FileScheme = "file:"

// SheetLocation says where a table is: the sheet, the tab and the header row.
type SheetLocation struct {
	URL       string // https, or FileScheme and a bare file name
	Tab       string // id or title; empty: the one that the URL names (#gid=…), else the first that is not hidden
	HeaderRow int    // from 1 to MaxHeaderRow; 0: the likeliest of the first HeaderWindow rows
}

// Sheet is the part of a spreadsheet that was read: its tabs, and the first rows of one of them.
type Sheet struct {
	Title   string // title of the document, or the file name
	Tabs    []Tab  // in order, MaxTabs at most
	Tab     Tab    // the one that was read
	Preview Preview
}

// Tab is one table of a sheet.
type Tab struct {
	ID      string // stays when the title changes, if the format supports that
	Title   string
	Rows    int // an estimate, header included; -1 if unknown without reading everything
	Columns int // likewise
	Hidden  bool
}

// Preview holds the first rows of a table.
type Preview struct {
	HeaderRow  int     // from 1; 0 if the tab is empty
	Confidence float64 // probability from 0 to 1 that this is the header; 1 if it was given
	Headers    []Header
	Rows       [][]*string // up to ShownRows rows below the header; a value for each column, nil if it is empty
}

// Header describes a column.
type Header struct {
	Name   string    // never empty, unique in its table
	Column string    // spreadsheet letters: A to GR; empty for a column of a warehouse
	Type   FieldType // of the values below
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
