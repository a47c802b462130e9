mod packaging/tokenbucket.ini
