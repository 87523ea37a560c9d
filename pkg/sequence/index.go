package sequence

// An index holds the values of each key, and no key without any. A count holds no key whose number is 0.

func insert[K comparable, V comparable](index map[K]map[V]struct{}, key K, value V) {
	if index[key] == nil {
		index[key] = map[V]struct{}{}
	}
	index[key][value] = struct{}{}
}

func remove[K comparable, V comparable](index map[K]map[V]struct{}, key K, value V) {
	delete(index[key], value)
	if len(index[key]) == 0 {
		delete(index, key)
	}
}

func bump(counts *map[string]int, key string, sign int) {
	if *counts == nil {
		*counts = map[string]int{}
	}
	(*counts)[key] += sign
	if (*counts)[key] == 0 {
		delete(*counts, key)
	}
}
