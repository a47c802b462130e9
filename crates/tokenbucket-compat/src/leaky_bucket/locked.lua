-- Who was denied most.
--
-- KEYS[1]  the set that counts denials
-- ARGV[1]  how many to list
-- Reply    members and their scores, the greatest first

return redis.call('ZREVRANGE', KEYS[1], 0, ARGV[1] - 1, 'WITHSCORES')
