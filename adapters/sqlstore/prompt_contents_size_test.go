package sqlstore

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/prompt"
)

func TestContentsKeepWhatIsAskedForWithinTheirRoom(t *testing.T) {
	var c contents
	const size = 64 << 10
	often := contentKey{workspace: "w", version: "often", revision: 1}
	c.remember(often, &prompt.Version{VersionInfo: prompt.VersionInfo{Number: 1}}, size)
	for i := range 10 * maxContents / size {
		c.remember(contentKey{workspace: "w", version: "once", revision: int64(i)}, &prompt.Version{}, size)
		if v := c.recall(often); v == nil || v.Number != 1 {
			t.Fatalf("after %d others, what is asked for all the time is %+v", i+1, v)
		}
		held := c.size
		for _, entry := range c.aged {
			held += entry.size
		}
		if held > maxContents {
			t.Fatalf("holds %d bytes of %d", held, maxContents)
		}
	}
	for _, other := range []contentKey{{workspace: "x", version: "often", revision: 1},
		{workspace: "w", version: "often", revision: 2}} {
		if v := c.recall(other); v != nil {
			t.Errorf("%+v recalls %+v", other, v)
		}
	}
}
