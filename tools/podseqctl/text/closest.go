package text

import (
	"strings"
)

// Closest returns the candidate that somebody most likely meant by a name that is none of them; ok is false if none is close.
// Upper and lower case are the same here.
func Closest(name string, candidates []string) (closest string, ok bool) {
	name = strings.ToLower(name)
	best := max(1, len(name)/3) + 1
	for _, candidate := range candidates {
		lower := strings.ToLower(candidate)
		distance := edits(name, lower)
		if len(name) > 2 && strings.HasPrefix(lower, name) {
			distance = min(distance, 1) // it was typed in part
		}
		if distance < best {
			closest, best = candidate, distance
		}
	}
	return closest, closest != ""
}

// edits counts the characters to insert, delete or replace that make one text of the other.
func edits(a, b string) int {
	left, right := []rune(a), []rune(b)
	row := make([]int, len(right)+1)
	for j := range row {
		row[j] = j
	}
	for i := range left {
		diagonal := row[0]
		row[0] = i + 1
		for j := range right {
			above := row[j+1]
			cost := 1
			if left[i] == right[j] {
				cost = 0
			}
			row[j+1] = min(above+1, row[j]+1, diagonal+cost)
			diagonal = above
		}
	}
	return row[len(right)]
}
