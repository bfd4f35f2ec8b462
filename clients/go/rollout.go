package atrium

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// division is a label's rollout with its versions, of which the first has the label.
type division struct {
	seed string
	arms []rolloutArm
}

type rolloutArm struct {
	slots    []int
	prepared *preparedPrompt
}

// choose returns the version that the server chooses for the same reader.
func (d *division) choose(reader string) *preparedPrompt {
	sum := sha256.Sum256([]byte(d.seed + "\x00" + reader))
	slot := int(binary.BigEndian.Uint64(sum[:8]) % 100) //nolint:gosec // it is less than 100
	i := slices.IndexFunc(d.arms, func(a rolloutArm) bool { return slices.Contains(a.slots, slot) })
	return d.arms[max(i, 0)].prepared
}

// divide returns the rollout of a resolved label. A version that was deleted since, with the end of the rollout, is
// replaced by the version that has the label.
func (p *Prompts) divide(ctx context.Context, key promptKey, item *ResolvedPrompt) (*division, error) {
	versions := map[string]*PromptVersion{}
	var refs []ResolveRef
	for _, arm := range item.Rollout.Versions {
		if arm.VersionID != item.Version.ID {
			refs = append(refs, ResolveRef{PromptTemplateID: item.PromptTemplateID, Ref: &arm.VersionID})
		}
	}
	if len(refs) > 0 {
		result, err := p.resolveAll(ctx, key, refs)
		if err != nil {
			return nil, err
		}
		for _, other := range result.Data {
			if other.Version != nil {
				versions[other.Version.ID] = other.Version
			}
		}
	}
	out := &division{seed: item.Rollout.Seed}
	for _, arm := range item.Rollout.Versions {
		version := versions[arm.VersionID]
		if version == nil {
			version = item.Version
		}
		chosen := *version
		chosen.Rollout = &PromptRolloutChoice{Label: key.ref, Weight: arm.Weight}
		prepared, err := preparePrompt(&chosen)
		if err != nil {
			return nil, err
		}
		out.arms = append(out.arms, rolloutArm{arm.Slots, prepared})
	}
	return out, nil
}
