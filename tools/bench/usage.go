package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// usage is what a program has used since it was started, as it tells Prometheus.
type usage struct {
	allocations float64 // objects
	cpu         float64 // seconds
	resident    float64 // bytes, at the moment
	stacks      float64 // bytes, at the moment
}

// usage reads the process's own metrics.
func (p *program) usage(ctx context.Context) (u usage, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.metrics+"/metrics", nil)
	if err != nil {
		return u, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return u, err
	}
	defer resp.Body.Close()
	wanted := map[string]*float64{
		"go_memstats_mallocs_total": &u.allocations, "process_cpu_seconds_total": &u.cpu,
		"process_resident_memory_bytes": &u.resident, "go_memstats_stack_inuse_bytes": &u.stacks,
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if into := wanted[name]; into != nil {
			if *into, err = strconv.ParseFloat(value, 64); err != nil {
				return u, err
			}
			delete(wanted, name)
		}
	}
	if err := lines.Err(); err != nil {
		return u, err
	}
	if len(wanted) > 0 {
		return u, fmt.Errorf("%s tells nothing of %v", p.metrics, wanted)
	}
	return u, nil
}

// since is what was used after before; of memory, how much more it is.
func (u usage) since(before usage) usage {
	return usage{allocations: u.allocations - before.allocations, cpu: u.cpu - before.cpu,
		resident: u.resident - before.resident, stacks: u.stacks - before.stacks}
}

// calm waits until p has nothing left to do, for half a minute at most.
func (p *program) calm(ctx context.Context) error {
	const look = 500 * time.Millisecond
	before, err := p.usage(ctx)
	for end := time.Now().Add(30 * time.Second); err == nil && time.Now().Before(end); {
		if err := wait(ctx, look); err != nil {
			return err
		}
		var now usage
		if now, err = p.usage(ctx); now.since(before).cpu < look.Seconds()/10 {
			break
		}
		before = now
	}
	return err
}
