{{- /* Every section of the book: its page, its heading, where it is, and its text. The README repeats what the book says. */ -}}
{{- $sections := slice -}}
{{- range where site.RegularPages "Path" "ne" "/project" -}}
{{- $page := partial "title.html" . -}}
{{- $url := strings.TrimPrefix "/" .RelPermalink -}}
{{- $marked := replaceRE `<h[1-6] id="` "\x00" .Content -}}
{{- range after 1 (split $marked "\x00") -}}
{{- $parts := findRESubmatch `(?s)^([^"]*)">(.*?)(?:<a class="anchor".*?)?</h[1-6]>(.*)` . 1 -}}
{{- with index $parts 0 -}}
{{- $text := replaceRE `</(td|th|p|li|pre|div)>` " " (index . 3) | plainify | htmlUnescape -}}
{{- $sections = $sections | append (slice $url (index . 1) $page (index . 2 | plainify | htmlUnescape) (replaceRE `\s+` " " $text | strings.TrimSpace) | jsonify) -}}
{{- end -}}
{{- end -}}
{{- end -}}
bookSections([{{ delimit $sections ",\n" }}])
