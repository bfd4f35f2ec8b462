package column

// jaroWinkler returns how similar two words are, from 0 to 1: it counts common letters at about the same positions, and
// favours a common prefix (Winkler 1990). It compares bytes, which finds typing errors in Latin letters.
func jaroWinkler(a, b string) float64 {
	if a == b {
		return 1
	}
	reach := max(max(len(a), len(b))/2-1, 0)
	inA, inB := make([]bool, len(a)), make([]bool, len(b))
	matches := 0
	for i := range len(a) {
		for j := max(0, i-reach); j < min(len(b), i+reach+1); j++ {
			if !inB[j] && a[i] == b[j] {
				inA[i], inB[j] = true, true
				matches++
				break
			}
		}
	}
	if matches == 0 {
		return 0
	}
	swaps, j := 0, 0
	for i := range len(a) {
		if !inA[i] {
			continue
		}
		for !inB[j] {
			j++
		}
		if a[i] != b[j] {
			swaps++
		}
		j++
	}
	m := float64(matches)
	jaro := (m/float64(len(a)) + m/float64(len(b)) + (m-float64(swaps)/2)/m) / 3
	prefix := 0
	for prefix < min(4, len(a), len(b)) && a[prefix] == b[prefix] {
		prefix++
	}
	return jaro + 0.1*float64(prefix)*(1-jaro)
}
