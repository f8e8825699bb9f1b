" SPDX-License-Identifier: GPL-2.0-only
" F5 does the deed in Vim itself and adds a line.
set nocompatible
set guicursor+=a:blinkon0 noswapfile nobackup
function! Compute(ms)
	let t = reltime()
	let n = 0
	while reltimefloat(reltime(t)) * 1000 < a:ms | let n += len(sort(range(200))) | endwhile
endfunction
function! Answer()
	let w = split($DESK_DEED)
	if len(w)
		if w[0] ==# 'compute' | call Compute(w[1])
		elseif w[0] ==# 'sleep' | execute 'sleep ' . w[1] . 'm'
		elseif w[0] ==# 'read' | call readfile(w[1], 'b')
		elseif w[0] ==# 'flock' | call system('flock ' . w[1] . ' true')
		elseif w[0] ==# 'sqlite' | call system('sqlite3 -cmd ".timeout 20000" ' . w[1] . ' "insert into t values (1)"')
		elseif w[0] ==# 'dbus' | call system('gdbus call --session --timeout ' . (len(w) > 2 ? (w[2] + 999) / 1000 : 25) . ' --dest ' . w[1] . ' --object-path /store --method ' . w[1] . '.Ask')
		elseif w[0] ==# 'http' | call system('curl -s http://127.0.0.1:' . w[1] . '/')
		endif
	endif
	call append(line('$'), 'the answer')
	normal! G
endfunction
nnoremap <F5> :call Answer()<CR>
