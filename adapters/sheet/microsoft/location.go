// Package microsoft opens files of SharePoint and OneDrive through Microsoft Graph
// (https://learn.microsoft.com/en-us/graph/api/driveitem-get-content).
package microsoft

import (
	"encoding/base64"
	"net/url"
	"regexp"
	"sync"

	"github.com/atrium-hq/atrium/domain/connection"
	"github.com/atrium-hq/atrium/domain/source"
)

// itemForm matches an item's path in the API. Identifiers of drives begin with b!, except for personal drives.
var itemForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^/v1\.0/drives/[A-Za-z0-9!_-]{1,128}/items/[A-Za-z0-9!_-]{1,128}$`)
})

// itemPath returns a location's path in the API, below /v1.0. A location is an item's URL in the API, or a link, which
// is encoded as "Encoding sharing URLs" of the API's documentation describes.
func itemPath(location string) (string, bool) {
	u, err := url.Parse(location)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Port() != "" || len(location) > source.MaxLocation ||
		(source.SheetLocation{URL: location}).AccountKind() != connection.Microsoft365 {
		return "", false
	}
	if u.Hostname() == graphHost {
		return u.Path, itemForm().MatchString(u.Path) && u.RawQuery == "" && u.EscapedPath() == u.Path
	}
	u.Fragment = ""
	return "/v1.0/shares/u!" + base64.RawURLEncoding.EncodeToString([]byte(u.String())) + "/driveItem", true
}
