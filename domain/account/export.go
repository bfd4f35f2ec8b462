package account

import "github.com/atrium-hq/atrium/domain/identity"

// MaxExported is the maximum number of rows in an export section.
const MaxExported = 10_000

// ExportSection is a part of what Atrium stores about a person.
type ExportSection struct {
	Name      string
	Rows      []map[string]any // newest first, as JSON encodes them
	Truncated bool             // there are more rows than MaxExported
}

// MayExportSelf returns an error unless by may export what is stored about their user. An API key cannot: it belongs to
// one workspace, and the export is about all.
func MayExportSelf(by identity.Actor) error {
	if by.User == "" || by.Service || by.Key != "" {
		return identity.ErrForbidden.Because("Requires a signed-in person, without an API key.")
	}
	return nil
}
