package embeds

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/atrium-hq/atrium/test/support/require"
)

func TestTheEmbedScriptHasEveryPart(t *testing.T) {
	names, err := fs.Glob(embedSources, "page/*.js")
	require.NoError(t, err)
	for _, name := range names {
		if part := strings.TrimSuffix(strings.TrimPrefix(name, "page/"), ".js"); !slices.Contains(embedParts, part) {
			t.Errorf("%s is not in the script", name)
		}
		source, err := embedSources.ReadFile(name)
		require.NoError(t, err)
		if lines := strings.Count(string(source), "\n"); lines > 400 {
			t.Errorf("%s has %d lines, more than 400", name, lines)
		}
	}
}
