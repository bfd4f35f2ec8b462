package revision_test

import (
	"testing"

	"github.com/atrium-hq/atrium/domain/revision"
	"github.com/atrium-hq/atrium/test/support/assert"
)

func TestCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		m    revision.Match
		want error
	}{
		"no condition holds always":  {nil, nil},
		"an empty one never does":    {revision.Match{}, revision.ErrMismatch},
		"the revision that is there": {revision.Match{3}, nil},
		"one of several":             {revision.Match{1, 3}, nil},
		"another revision":           {revision.Match{2}, revision.ErrMismatch},
		"several others":             {revision.Match{1, 2, 4}, revision.ErrMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorIs(t, tt.m.Check(3), tt.want)
		})
	}
}
