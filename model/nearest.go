package model

import "slices"

// Nearest is the known word that takes the fewest changed letters to become word.
func Nearest(word string, known []string) string {
	word = word[:min(len(word), 100)]
	return slices.MinFunc(known, func(a, b string) int { return changes(word, a) - changes(word, b) })
}

// Misspelt is Nearest, or "" where most of the word would change.
func Misspelt(word string, known []string) string {
	near := Nearest(word, known)
	if changes(word, near) > max(min(2, len(word)/2), len(word)/3) {
		return ""
	}
	return near
}

// changes counts the bytes to add, drop or replace that make b of a.
func changes(a, b string) int {
	row := make([]int, len(b)+1)
	for i := range row {
		row[i] = i
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			if a[i] != b[j] {
				corner = min(corner, row[j], row[j+1]) + 1
			}
			corner, row[j+1] = row[j+1], corner
		}
	}
	return row[len(b)]
}
