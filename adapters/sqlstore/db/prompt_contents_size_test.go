package db

import (
	"testing"
	"time"

	"github.com/atrium-hq/atrium/domain/prompt"
)

func TestContentsKeepWhatIsAskedForWithinTheirRoom(t *testing.T) {
	var c contents
	const size = 64 << 10
	now := time.Now()
	frequent := ContentKey{Workspace: "w", Version: "often", Revision: 1}
	c.Remember(frequent, &prompt.Version{VersionInfo: prompt.VersionInfo{Number: 1}}, size, now)
	for i := range 10 * maxContents / size {
		c.Remember(ContentKey{Workspace: "w", Version: "once", Revision: int64(i)}, &prompt.Version{}, size, now)
		if v := c.Recall(frequent, now); v == nil || v.Number != 1 {
			t.Fatalf("after %d others, what is asked for all the time is %+v", i+1, v)
		}
		stock := c.size
		for _, entry := range c.aged {
			stock += entry.size
		}
		if stock > maxContents {
			t.Fatalf("holds %d bytes of %d", stock, maxContents)
		}
	}
	for _, other := range []ContentKey{{Workspace: "x", Version: "often", Revision: 1},
		{Workspace: "w", Version: "often", Revision: 2}} {
		if v := c.Recall(other, now); v != nil {
			t.Errorf("%+v recalls %+v", other, v)
		}
	}
}

func TestContentsDropWhatNoOneReadsLongBeforeTheyAreFull(t *testing.T) {
	for name, direction := range map[string]time.Duration{
		"as time passes": 1, "while the clock is set back": -1,
	} {
		t.Run(name, func(t *testing.T) {
			var c contents
			const perStep = 600 // new versions, each of which is read once
			now := time.Now()
			frequent := ContentKey{Workspace: "w", Version: "often", Revision: 1}
			c.Remember(frequent, &prompt.Version{}, 600, now)
			for step := range 60 {
				now = now.Add(direction * contentsFresh / 5)
				for i := range perStep {
					c.Remember(ContentKey{Workspace: "w", Version: "once", Revision: int64(step*perStep + i)},
						&prompt.Version{}, 600, now)
				}
				if c.Recall(frequent, now) == nil {
					t.Fatalf("after %d steps, the version that is read in each is gone", step+1)
				}
				if stock, limit := len(c.young)+len(c.aged), perStep*10+2; stock > limit {
					t.Fatalf("after %d steps, %d versions are held, want at most %d", step+1, stock, limit)
				}
			}
		})
	}
}
