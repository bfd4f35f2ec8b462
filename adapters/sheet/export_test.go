package sheet

import "github.com/atrium-hq/atrium/adapters/sheet/microsoft"

// At returns d with other addresses of Microsoft.
func (d *Documents) At(c microsoft.Config) *Documents {
	other := *d
	other.microsoft = c
	return &other
}
