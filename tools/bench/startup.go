package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	starts  = 5
	settles = 2 * time.Second // until a server that gets no requests has nothing left to do
)

// startup measures Atrium alone: how soon after its exec it answers that it is ready, and the
// memory that it then takes.
//
// The databases are dropped after all starts. ext4 does not reuse a number of a file that was deleted in the last
// seconds, and looks at all such numbers whenever a file is created: after the 800 files of a dropped database, those
// of the next one would take PostgreSQL longer than in a new installation.
func startup(ctx context.Context, m *machine) (failed error) {
	m.section("Starting, and memory", "", "fresh database (aim ≤ 100 ms)", "existing one",
		"resident when idle (aim ≤ 40 MB on SQLite)")
	for _, e := range m.engines {
		var fresh, existing, resident []float64
		for i := range starts {
			data := filepath.Join(m.dir, fmt.Sprintf("startup-%s-%d", e.driver, i))
			d, drop, err := e.create(ctx, data)
			if err != nil {
				return err
			}
			defer func() { failed = errors.Join(failed, drop()) }()
			first, _, err := m.startOn(ctx, d, data, 0)
			if err != nil {
				return fmt.Errorf("start on %s: %w", e.driver, err)
			}
			again, bytes, err := m.startOn(ctx, d, data, settles)
			if err != nil {
				return fmt.Errorf("start on %s: %w", e.driver, err)
			}
			fresh, existing, resident = append(fresh, first), append(existing, again), append(resident, bytes)
		}
		m.row(e.named(), fmt.Sprintf("%.0f ms", median(fresh)), fmt.Sprintf("%.0f ms", median(existing)),
			mb(median(resident)))
	}
	return nil
}

// startOn starts Atrium, lets it settle and stops it; it returns the milliseconds to ready and
// the bytes of its memory.
func (m *machine) startOn(
	ctx context.Context, d database, data string, settle time.Duration,
) (ready, resident float64, err error) {
	p, err := m.serveAtrium(ctx, d, data)
	if err != nil {
		return 0, 0, err
	}
	defer p.stop()
	time.Sleep(settle)
	resident, err = p.resident(ctx)
	return p.ready.Seconds() * 1000, resident, err
}

// resident returns the bytes of a program's memory, where there is no /proc from its metrics: to collect these takes
// code and memory that a server without requests does not use, 4 to 8 MB.
func (p *program) resident(ctx context.Context) (float64, error) {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if errors.Is(err, fs.ErrNotExist) {
		used, err := p.usage(ctx)
		return used.resident, err
	}
	if err != nil {
		return 0, err
	}
	var size, pages float64
	if _, err := fmt.Sscan(string(statm), &size, &pages); err != nil {
		return 0, fmt.Errorf("statm: %w", err)
	}
	return pages * float64(os.Getpagesize()), nil
}
