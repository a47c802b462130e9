-- In a script, this text follows record.lua.
-- The head of each script on buckets.
--
-- A bucket's record is the microsecond since the epoch at which it was, or will be, empty. While
-- the bucket is in debt, the record also holds ":" and the microsecond at which it was written. A
-- bucket that was reset has the record "0". Such a bucket is full, and its record is not lost.
-- `remote/record.rs` implements the same rule.

-- A record expires when the bucket is full under the greatest span of the steps that took from it
-- since it was last full. So its time to live keeps that span. If a refund or reset moved the state
-- back, the record stays as long as before, so that no host restores the state before that. Then
-- the record is the state, ":", the microsecond at which it was written, ":" and the span.

-- A host keeps what it has taken ahead for PERIOD microseconds at most. No give-back may grant
-- these tokens again, as `ahead.rs` of gcra explains. So ":" and the microseconds that were taken
-- ahead in the period before this one may follow, and then ":" and those of this period.
local PERIOD = 2000000
-- By key: these two numbers and the least span of the steps that took them, for buckets of which
-- something was taken ahead. The record has this span after ":" if it is not the span there.
local ahead = {}

-- Notes that a step of this span takes microseconds ahead.
local function take_ahead(key, micros, span)
    local taken = ahead[key] or { 0, 0, span }
    ahead[key] = { taken[1], taken[2] + micros, math.min(taken[3], span) }
end

-- The kinds of states, which `StateKind` in `transport.rs` explains. Other states have no kind.
local ABSENT, RESTORED, SET_BACK, SHORTER = 1, 2, 3, 4

-- Reads a bucket. Returns five values: its state, or false without a record; an error to reply;
-- the kind; the state in the record; and its span, if it has one. If the record was written in the
-- future, the clock was set back since. The state is then moved back by the same time, and the
-- caller must write it. With windows, the state stays, because it belongs to its window.
local function read(key, has_windows)
    local record = redis.pcall('GET', key)
    if type(record) == 'table' then
        -- Use pcall, because call hides the kind of the error before Redis 7. A key that holds a
        -- list causes WRONGTYPE.
        return nil, record
    end
    local state, refusal = number(record)
    local written, kept = state, nil
    if refusal then
        local head, older, newer, least = string.match(record, '^(%d+:%d+:%d+):(%d+):(%d+)(:?%d*)$')
        local first, instant, rest = string.match(head or record, '^(%d+):(%d+)(:?%d*)$')
        state, written = number(first), number(instant)
        older, newer = number(older), number(newer)
        kept = (rest or '') ~= '' and number(string.sub(rest, 2))
        least = (least or '') ~= '' and number(string.sub(least, 2))
        if not state or not written or kept == nil or not kept and state <= written
            or older == nil or newer == nil or least == nil then
            return nil, refusal
        end
        if kept and not has_windows and state + kept <= math.max(now, written) then
            return 0, nil, nil, 0
        end
        local periods = head and math.floor(now / PERIOD) - math.floor(written / PERIOD) or 2
        if periods < 2 then
            ahead[key] = { periods < 1 and older or newer, periods < 1 and newer or 0, least or kept }
        end
    end
    if written and written > now and not has_windows then
        return state - (written - now), nil, SET_BACK, state, kept
    end
    return state, nil, nil, state, kept
end

-- Some Redis measure a time to live from the start of the script, which is earlier than `now`. On a
-- busy machine these are milliseconds. A span that was read from a time to live may be this number
-- of microseconds too long.
local ROUNDING = 10000

-- Writes a state. The key lives a millisecond longer than the bucket needs to become full, and at
-- least as long as the old one. `before` is the state in the old record, false without one and in
-- a window. `kept` is the span in the old record, if it has one.
local function write(key, state, full_at, before, kept)
    local record = string.format(state > now and '%.0f:%.0f' or '%.0f', state, now)
    local life, span = math.ceil((full_at - now) / 1000) + 1, full_at - state
    local left = before and call('PTTL', key) or -1
    local function whole()
        span = math.max(kept or span, span)
        local text, taken = string.format('%.0f:%.0f:%.0f', state, now, span), ahead[key]
        if taken then
            text = text .. string.format(':%.0f:%.0f', taken[1], taken[2])
            text = text .. (taken[3] < span and string.format(':%.0f', taken[3]) or '')
        end
        return text
    end
    if left < 0 then
        return keep(key, ahead[key] and whole() or record, life)
    end
    -- A greater span of earlier steps stays until the bucket is full. If the record has it, it
    -- stays there, because reading it from times to live again and again adds up their rounding.
    local is_greater = kept and kept > span + ROUNDING
    if kept then
        life = math.max(life, math.ceil((state + kept - now) / 1000) + 1)
    elseif before > 0 then
        -- Whole milliseconds are moved, so that many steps do not add up their rounding.
        life = math.max(life, left + math.ceil(state / 1000) - math.ceil(before / 1000))
        kept = math.min(now + left * 1000 - before, 2 ^ 52)
    end
    if left > life or is_greater or ahead[key] then
        record, life = whole(), math.max(left, life)
    end
    call('SET', key, record, 'PX', string.format('%.0f', math.max(life, 1)))
end

-- Returns SHORTER if the record counts as absent before the bucket is full under this span,
-- otherwise nil. `kept` is the span in the record, if it has one.
local function shorter(key, state, span, kept)
    if not kept then
        local left = call('PTTL', key)
        kept = left >= 0 and now + left * 1000 - state or span
    end
    return kept + ROUNDING < span and SHORTER or nil
end

-- Returns the start and the end of the current window. The arguments from `first` are the starts of
-- three windows, and the end of the last one. Returns nothing if the current instant is not in
-- these windows. The caller must then change nothing, and reply the instant.
local function window(first)
    for at = first, first + 2 do
        local start, finish = ARGV[at] + 0, ARGV[at + 1] + 0
        if now >= start and now < finish then
            return start, finish
        end
    end
end
